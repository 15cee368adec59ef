/** A call's id that comes from an address, and names all calls, or what is none. */
import { lastValueFrom } from 'rxjs';
import { natsBoard, type NatsConnection } from 'rxvoice/nats';

describe('a board of calls', () => {
  it.each(['*', '>', 'c1.events.>', 'c1.commands', 'two words', '', 'x'.repeat(101)])(
    'asks the broker nothing about a call named %j',
    async (callId) => {
      const asked: string[] = [];
      const note = (subject: string): never => {
        asked.push(subject);
        throw new Error('it was asked');
      };
      const nats: NatsConnection = {
        ...{ isClosed: () => false, status: async function* () {}, publish: note },
        ...{ subscribe: note, request: note },
      };
      const board = natsBoard(nats);
      expect(await board.command(callId, { type: 'hangUp' })).toEqual({
        ...{ ok: false, message: 'there is no such call, or its machine is gone' },
      });
      await expect(lastValueFrom(board.audio(callId))).rejects.toMatchObject({ code: 'configuration' });
      await expect(lastValueFrom(board.events({ callId }))).rejects.toThrow("is no call's id");
      expect(asked).toEqual([]);
    },
  );
});
