import type { HttpRequest } from '../call.ts';
import type { CallLine } from '../call-line.ts';
import type { Environment } from '../environment.ts';
import type { HttpRoute } from '../vendor.ts';
import { openAiRefusal } from './chat-completions.ts';
import { ThetaSession } from './theta-agent.ts';
import { authorize } from './theta-realtime.ts';

/** What goes over a call's data channel, with the faults that a test wants. */
function sender(request: HttpRequest, line: CallLine): (message: unknown) => void {
  const { record, plan } = request;
  return (message) => {
    const text = JSON.stringify(message);
    const verdict = plan.beforeSend();
    if (verdict === 'drop' || verdict === 'close') line.close();
    if (verdict !== 'send') return;
    record.messages.push({ from: 'service', text });
    line.send(text);
  };
}

/** OpenAI Realtime by WebRTC: `https://api.openai.com/v1/realtime/calls?model=…`, an offer for an answer. */
export const thetaCall: HttpRoute = {
  ...{ service: 'theta-agent', method: 'POST', path: '/realtime/calls', open: true },
  async handle(request: HttpRequest, environment: Environment): Promise<void> {
    const { headers, query, proxied, record } = request;
    if (!proxied) authorize({ headers, protocols: [] }, environment.credentials);
    if (headers['content-type'] !== 'application/sdp') throw openAiRefusal(400, 'the offer is application/sdp');
    const model = query.get('model');
    if (!model?.startsWith('gpt-realtime')) throw openAiRefusal(400, `no realtime model: ${model ?? 'none'}`);
    const offer = new TextDecoder().decode(request.body);
    for (const part of [/^v=0\r\n/, /\r\nm=audio /, /\r\nm=application .*webrtc-datachannel/])
      if (!part.test(offer)) throw openAiRefusal(400, `the offer lacks ${String(part)}`);
    const { answerCall } = environment;
    if (!answerCall) throw openAiRefusal(501, 'this sandbox takes no calls: start it with answerCall');
    const timers = environment.timers.child();
    let session: ThetaSession | undefined;
    const answer = await answerCall(offer, {
      opened: (line) => {
        session = new ThetaSession({ call: request, timers, send: sender(request, line) }, environment, line);
      },
      text: (text) => {
        record.messages.push({ from: 'client', text });
        session?.receive(text);
      },
      audio: (bytes) => session?.hear(bytes),
      closed: () => {
        record.close = { code: 1000, reason: '' };
        timers.clear();
      },
    });
    const location = `/v1/realtime/calls/rtc_${crypto.randomUUID().replaceAll('-', '')}`;
    const more = { 'content-type': 'application/sdp', location };
    request.send(201, new TextEncoder().encode(answer), more);
  },
};
