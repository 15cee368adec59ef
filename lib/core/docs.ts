/** The address of a page of the documentation, of which the package has none. */
export const docs = (page: string): string => `https://github.com/rxvoice/rxvoice/blob/main/docs/${page}.md`;
