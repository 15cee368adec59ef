/** Slow: every mutation of what a data channel says. */
import { asObject, asObjects, type WireObject } from '../../../lib/core/guard.ts';
import { parseJsonObject } from '../../../lib/core/parse-json.ts';
import { MeetingPeopleE, sessionStatuses } from '../../../lib/providers/platform/meeting-people-e.ts';
import { readStatsWanted, statsSections } from '../../../lib/providers/platform/meeting-peer-e.ts';
import { frame, generator, mutate } from '../../conformance/mutations.ts';

const read = (text: string): WireObject => parseJsonObject(text) ?? {};
const jane = read(
  '{"resources":[{"id":7,"participant":{"participantId":7,"participantKey":"participants/123","signedInUser":{"user":"users/456","displayName":"Jane Doe"}}}]}',
);
const janesVoice = read(
  '{"resources":[{"id":3,"mediaEntry":{"participantKey":"participants/123","sessionName":"participants/123/participantSessions/9","audioCsrc":13579,"videoCsrcs":[24680],"presenter":false,"screenshare":false,"audioMuted":false,"videoMuted":true}}]}',
);
const configuration = read(
  '{"resources":[{"configuration":{"uploadIntervalSeconds":10,"allowlist":{"transport":{"keys":["selectedCandidatePairId"]},"inbound-rtp":{"keys":["kind","packetsReceived","jitter"]}}}}]}',
);
const sources = [{ source: 13579, audioLevel: 0.5 }];

describe('the session of a meeting', () => {
  it('tells who joins and leaves: who is there, who changes, who goes', () => {
    const people = new MeetingPeopleE();
    const of = (id: number, key: string, displayName?: string): object => ({
      id,
      participant: { participantKey: key, ...(displayName && { anonymousUser: { displayName } }) },
    });
    expect(people.participants({ resources: [of(1, 'p/1', 'Ada'), of(2, 'p/2')] })).toEqual([
      { type: 'joined', userId: 'p/1', userName: 'Ada' },
      { type: 'joined', userId: 'p/2' },
    ]);
    // Her name changes; she has two connections, and closes one.
    expect(people.participants({ resources: [of(1, 'p/1', 'Ada L.'), of(3, 'p/1', 'Ada L.')] })).toEqual([]);
    expect(people.participants({ deletedResources: [{ id: 3 }] })).toEqual([]);
    expect(people.participants({ deletedResources: [{ id: 1 }, { id: 9 }], resources: [of(4, 'p/4')] })).toEqual([
      { type: 'left', userId: 'p/1', userName: 'Ada L.' },
      { type: 'joined', userId: 'p/4' },
    ]);
  });

  for (const [text, expected] of [
    [
      '{"resources":[{"sessionStatus":{"connectionState":"STATE_WAITING"}}]}',
      [{ status: 'waiting', reason: 'REASON_SESSION_UNHEALTHY' }],
    ],
    [
      '{"resources":[{"sessionStatus":{"connectionState":"STATE_JOINED"}}]}',
      [{ status: 'joined', reason: 'REASON_SESSION_UNHEALTHY' }],
    ],
    [
      '{"resources":[{"sessionStatus":{"connectionState":"STATE_DISCONNECTED","disconnectReason":"REASON_CLIENT_LEFT"}}]}',
      [{ status: 'disconnected', reason: 'REASON_CLIENT_LEFT' }],
    ],
    [
      '{"resources":[{"sessionStatus":{"connectionState":"STATE_DISCONNECTED"}}]}',
      [{ status: 'disconnected', reason: 'REASON_SESSION_UNHEALTHY' }],
    ],
    ['{"response":{"requestId":1,"status":{"code":0,"message":"","details":[]},"leave":{}}}', []],
    ['{"resources":[{"sessionStatus":{"connectionState":"STATE_OF_THE_FUTURE"}},null,{"sessionStatus":[]}]}', []],
    ['{"resources":[{"sessionStatus":{"connectionState":"__proto__"}}]}', []],
  ] as const) {
    it(`reads ${text.slice(0, 110)}`, () => {
      expect(sessionStatuses(read(text))).toEqual(expected);
    });
  }
});

describe('the people of a meeting', () => {
  it('are known by what contributes to the sound, in whichever order they are told', () => {
    for (const order of [
      ['participants', 'entries'],
      ['entries', 'participants'],
    ] as const) {
      const people = new MeetingPeopleE();
      for (const channel of order) people[channel](channel === 'participants' ? jane : janesVoice);
      expect(people.speaker(sources)).toEqual({ userId: 'participants/123', userName: 'Jane Doe' });
    }
  });

  for (const user of ['anonymousUser', 'phoneUser']) {
    it(`have names as ${user} too`, () => {
      const people = new MeetingPeopleE();
      people.participants({
        resources: [{ id: 1, participant: { participantKey: 'participants/123', [user]: { displayName: 'Guest' } } }],
      });
      people.entries(janesVoice);
      expect(people.speaker(sources)?.userName).toBe('Guest');
    });
  }

  it('speak as the loudest of them, and the marker of the loudest is nobody', () => {
    const people = new MeetingPeopleE();
    people.entries(janesVoice);
    people.entries({ resources: [{ id: 4, mediaEntry: { participantKey: 'participants/5', audioCsrc: 99 } }] });
    const both = [
      { source: 42, audioLevel: 1 },
      { source: 13579, audioLevel: 0.1 },
      { source: 99, audioLevel: 0.2 },
    ];
    expect(people.speaker(both)).toEqual({ userId: 'participants/5' });
    expect(people.speaker([{ source: 42, audioLevel: 1 }])).toBeUndefined();
    expect(people.speaker([{ source: 1234 }])).toBeUndefined();
    expect(people.speaker([])).toBeUndefined();
  });

  it('leave, join again, and change their source', () => {
    const people = new MeetingPeopleE();
    people.participants(jane);
    people.entries(janesVoice);
    people.entries(read('{"deletedResources":[{"id":3,"mediaEntry":true}]}'));
    people.participants(read('{"deletedResources":[{"id":7,"participant":true}]}'));
    expect(people.speaker(sources)).toBeUndefined();
    people.entries({ resources: [{ id: 8, mediaEntry: { participantKey: 'participants/123', audioCsrc: 5 } }] });
    expect(people.speaker([{ source: 5 }])).toEqual({ userId: 'participants/123' });
    people.participants(jane);
    people.entries({ resources: [{ id: 8, mediaEntry: { participantKey: 'participants/123', audioCsrc: 6 } }] });
    expect(people.speaker([{ source: 5 }])).toBeUndefined();
    expect(people.speaker([{ source: 6 }])).toEqual({ userId: 'participants/123', userName: 'Jane Doe' });
  });

  it('are bounded, also where a thousand have come and gone', () => {
    const people = new MeetingPeopleE();
    for (let id = 0; id < 5000; id++) {
      people.participants({ resources: [{ id, participant: { participantKey: `p${id}` } }] });
      people.participants({ deletedResources: [{ id }] });
      people.entries({ resources: [{ id, mediaEntry: { participantKey: `p${id}`, audioCsrc: id } }] });
    }
    people.participants(jane);
    // The room is full; who has a place keeps it.
    people.entries({ resources: [{ id: 5, mediaEntry: { participantKey: 'participants/123', audioCsrc: 13579 } }] });
    expect(people.speaker(sources)).toEqual({ userId: 'participants/123', userName: 'Jane Doe' });
    expect(people.speaker([{ source: 4000 }])).toBeUndefined();
  });

  it('and all that a data channel says are read without harm in 20,000 mutated messages', () => {
    const random = generator(6);
    const people = new MeetingPeopleE();
    const deleted = { deletedResources: [{ id: 3, mediaEntry: true }] };
    const status = { resources: [{ sessionStatus: { connectionState: 'STATE_JOINED' } }] };
    const seeds = [jane, janesVoice, configuration, deleted, status];
    const reports = [{ id: 'T', type: 'transport', selectedCandidatePairId: 'CP' }];
    for (let turn = 0; turn < 20_000; turn++) {
      const seed = seeds[Math.floor(random() * seeds.length)];
      const message = parseJsonObject(frame(mutate(seed, random), random));
      if (!message) continue;
      people.participants(message);
      people.entries(message);
      for (const { status, reason } of sessionStatuses(message)) {
        expect(['waiting', 'joined', 'disconnected']).toContain(status);
        expect(typeof reason).toBe('string');
      }
      for (const { configuration: asked } of asObjects(message['resources'])) {
        const wanted = readStatsWanted(asObject(asked) ?? {});
        expect(wanted.intervalSeconds).toBeLessThanOrEqual(3600);
        statsSections(reports, wanted);
      }
      const speaker = people.speaker(sources);
      if (speaker) expect(typeof speaker.userId).toBe('string');
    }
    // Still works.
    people.participants(jane);
    people.entries(janesVoice);
    expect(people.speaker(sources)?.userId).toBeDefined();
  });
});
