import type { ReactNode } from 'react';

export const metadata = { title: 'A voice agent' };

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body style={{ font: '1rem/1.5 system-ui', maxWidth: '40rem', margin: '2rem auto', padding: '0 1rem' }}>
        {children}
      </body>
    </html>
  );
}
