import type { ReactNode } from 'react';

export const metadata = { title: 'A voice agent', icons: { icon: 'data:,' } };

const style = `
  body { font: 1rem/1.5 system-ui; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
  button, input { font: inherit; min-height: 2.75rem; box-sizing: border-box; margin-right: 0.5rem; }
`;

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <head>
        <style>{style}</style>
      </head>
      <body>{children}</body>
    </html>
  );
}
