import { connection } from 'next/server';
import { Talk } from './talk';

export default async function Page() {
  // The sandbox is there while the server runs, not when it is built.
  await connection();
  return (
    <main>
      <h1>A voice agent</h1>
      <Talk sandbox={process.env['RXVOICE_SANDBOX']} />
    </main>
  );
}
