import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  filled,
  integer,
  nothing,
  number,
  object,
  oneOf,
  required,
  shape,
  string,
  type Check,
} from '../validate.ts';
import { format, models } from './theta-realtime.ts';

const turnDetection = anyOf(
  nothing,
  shape({
    type: required(oneOf('server_vad')),
    ...{ threshold: number(0, 1), prefix_padding_ms: number(0), silence_duration_ms: number(0) },
    idle_timeout_ms: anyOf(nothing, integer(5_000, 30_000)),
    ...{ create_response: boolean, interrupt_response: boolean },
  }),
  shape({
    type: required(oneOf('semantic_vad')),
    eagerness: oneOf('low', 'medium', 'high', 'auto'),
    ...{ create_response: boolean, interrupt_response: boolean },
  }),
);

const toolChoice = anyOf(
  oneOf('auto', 'none', 'required'),
  shape({ type: required(oneOf('function')), name: required(filled) }),
);

const tool = shape({
  type: required(oneOf('function')),
  name: required(filled),
  description: string,
  parameters: object,
});

const session = shape({
  type: required(oneOf('realtime')),
  ...{ model: string, instructions: string, include: arrayOf(string), prompt: anything, tracing: anything },
  output_modalities: arrayOf(oneOf('text', 'audio'), 1, 1),
  audio: shape({
    input: shape({
      format,
      transcription: anyOf(
        nothing,
        shape({
          model: required(oneOf(...models)),
          ...{ language: string, languages: arrayOf(string), keywords: arrayOf(filled), prompt: string },
        }),
      ),
      noise_reduction: anyOf(nothing, shape({ type: required(oneOf('near_field', 'far_field')) })),
      turn_detection: anyOf(nothing, turnDetection),
    }),
    output: shape({ format, voice: anyOf(filled, shape({ id: required(filled) })), speed: number(0.25, 1.5) }),
  }),
  tools: arrayOf(tool),
  tool_choice: toolChoice,
  max_output_tokens: anyOf(integer(1, 4096), oneOf('inf')),
  parallel_tool_calls: boolean,
  reasoning: shape({ effort: oneOf('minimal', 'low', 'medium', 'high', 'xhigh') }),
  truncation: anything,
});

const message = (role: 'user' | 'assistant' | 'system', type: string): Check =>
  shape({
    ...{ type: required(oneOf('message')), role: required(oneOf(role)), id: filled, status: string },
    content: required(arrayOf(shape({ type: required(oneOf(type)), text: required(string) }), 1)),
  });
const item = anyOf(
  message('user', 'input_text'),
  message('system', 'input_text'),
  message('assistant', 'output_text'),
  shape({
    ...{ type: required(oneOf('function_call_output')), id: filled, call_id: required(filled) },
    output: required(string),
  }),
);

const base64: Check = (value, path) =>
  typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value) && value.length <= 15 * 1024 * 1024
    ? undefined
    : `${path} must be base64`;

const event = (members: Parameters<typeof shape>[0]): Check =>
  shape({ type: required(filled), event_id: filled, ...members });

/** What a client may send. */
export const messageShapes: Readonly<Record<string, Check>> = {
  'session.update': event({ session: required(session) }),
  'input_audio_buffer.append': event({ audio: required(base64) }),
  'input_audio_buffer.commit': event({}),
  'input_audio_buffer.clear': event({}),
  'conversation.item.create': event({ item: required(item), previous_item_id: filled }),
  'conversation.item.truncate': event({
    ...{ item_id: required(filled), content_index: required(oneOf(0)), audio_end_ms: required(integer(0)) },
  }),
  'response.create': event({
    response: shape({ instructions: string, tool_choice: toolChoice, output_modalities: arrayOf(string) }),
  }),
  'output_audio_buffer.clear': event({}),
  'response.cancel': event({ response_id: filled }),
};
