// Images of figures: what Markdown and JSON are with them, and without.
const LINK = /!\[Figure\]\(images\/[^()\s]*\)\n*/g; // to a file that is not there where the text is pasted
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const imagesOn = (page) => (page.blocks || []).map((block) => block.image).filter((image) => image && NAME.test(image.name) && typeof image.base64 === "string");

export const hasImages = (pages) => pages.some((page) => imagesOn(page).length);

// The page's Markdown as it is shown and copied: captions and texts of figures, and no links that lead nowhere.
export const markdownOf = (page) => (typeof page.markdown === "string" && imagesOn(page).length ? page.markdown.replace(LINK, "") : page.markdown);

// The page without the images of its figures, which are most of it. `linked`: Markdown keeps the links, for files beside it.
export function imageless(page, linked) {
  if (!imagesOn(page).length) return page;
  return { ...page, markdown: linked ? page.markdown : markdownOf(page), blocks: page.blocks.map((block) => ({ ...block, image: null })) };
}

// Files for a ZIP, where the links of the Markdown lead.
export const imageFiles = (pages) => pages.flatMap(imagesOn).map((image) => ({ folder: "images/", name: image.name, content: Uint8Array.from(atob(image.base64), (letter) => letter.charCodeAt(0)) }));
