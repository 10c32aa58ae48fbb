// Reads a document with a client that is generated from inkgate's OpenAPI document.
//   java Read FILE [SERVER]
import inkgate.ApiClient;
import inkgate.ApiException;
import inkgate.api.ReadApi;
import inkgate.model.DocumentPage;
import inkgate.model.OcrRequest;
import inkgate.model.OcrResponse;
import inkgate.model.ReadOcrRequest;
import java.nio.file.Files;
import java.nio.file.Path;

public class Read {
    public static void main(String[] args) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(args.length > 1 ? args[1] : "http://127.0.0.1:7860");
        String key = System.getenv("INKGATE_API_KEY");
        if (key != null) client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
        OcrRequest request = new OcrRequest().image(Files.readAllBytes(Path.of(args[0])));
        try {
            var answer = new ReadApi(client).readOcr(new ReadOcrRequest(request), null, null, null, null, null, null, null, null);
            // This path takes several protocols; the generator leaves it to us which of their responses this is.
            var document = client.getObjectMapper().convertValue(answer.getActualInstance(), OcrResponse.class);
            for (DocumentPage page : document.getPages()) {
                System.out.printf("page %d, %d x %d pixels%n", page.getIndex() + 1, page.getWidth(), page.getHeight());
            }
            System.out.println(document.getText());
        } catch (ApiException error) {
            // The body is a problem document. 429 and 503 say in Retry-After when to return.
            System.err.println(error.getCode() + ": " + error.getResponseBody());
            System.exit(1);
        }
    }
}
