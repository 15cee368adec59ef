/** The address of a documentation page: the package does not contain them. */
export const docs = (page: string): string => `https://github.com/rxvoice/rxvoice/blob/main/docs/${page}.md`;
