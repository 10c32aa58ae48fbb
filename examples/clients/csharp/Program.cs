// Reads a document with a client that is generated from inkgate's OpenAPI document.
//   dotnet run FILE [SERVER]
using System;
using System.IO;
using System.Threading.Tasks;
using Inkgate.Api;
using Inkgate.Client;
using Inkgate.Model;

static class Program
{
    static async Task<int> Main(string[] args)
    {
        var settings = new Configuration { BasePath = args.Length > 1 ? args[1] : "http://127.0.0.1:7860" };
        var key = Environment.GetEnvironmentVariable("INKGATE_API_KEY");
        if (key != null) settings.DefaultHeaders["Authorization"] = "Bearer " + key;
        var request = new OcrRequest(image: File.ReadAllBytes(args[0]));
        try
        {
            using var api = new ReadApi(settings);
            var answer = await api.ReadOcrAsync(new ReadOcrRequest(request));
            var document = answer.GetOcrResponse();
            foreach (var page in document.Pages)
                Console.WriteLine($"page {page.Index + 1}, {page.Width} x {page.Height} pixels");
            Console.WriteLine(document.Text);
            return 0;
        }
        catch (ApiException error)
        {
            // The content is a problem document. 429 and 503 say in Retry-After when to return.
            Console.Error.WriteLine($"{error.ErrorCode}: {error.ErrorContent}");
            return 1;
        }
    }
}
