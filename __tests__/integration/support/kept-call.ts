/** One process with one call that is kept in a file. Tells its parent what is heard, and what the history has. */
import { AlphaFlux, AlphaTTS, BufferInput, NullOutput, NuLLM, Pipeline, remember, SqliteHistory } from 'rxvoice';
import { openSqlite } from '../../features/support/sqlite.ts';
import { limits } from './caller.ts';

const [file = '', alpha = '', nu = '', question = ''] = process.argv.slice(2);
const tell = (fact: object): void => void process.stdout.write(`${JSON.stringify(fact)}\n`);

const database = await openSqlite(file);
database.exec('PRAGMA journal_mode = WAL');
database.exec('PRAGMA synchronous = NORMAL');
const key = { apiKey: 'sandbox-key' };
const pipeline = new Pipeline({
  providers: [
    new BufferInput({ sampleRate: 16_000 }),
    new AlphaFlux({ ...key, endpoint: alpha }),
    new NuLLM({ ...key, endpoint: nu, model: 'openai/gpt-oss-20b' }),
    new AlphaTTS({ ...key, endpoint: alpha, limits }),
    new NullOutput(),
  ],
});
const memory = await remember(pipeline, { store: new SqliteHistory(database), conversation: 'caller' });
tell({ resumed: memory.resumed });
// What is told is kept: nobody is faster than the next write.
pipeline.on(
  'caption.word',
  ({ text }) =>
    void Promise.resolve()
      .then(() => memory.saved())
      .then(() => tell({ word: text })),
);
pipeline.on('turn.ended', () => tell({ messages: pipeline.history.messages() }));
await pipeline.start();
pipeline.send(question);
