/** Names under which the library's worklets register their processors. */
export const captureProcessor = 'rxvoice-capture';
export const playbackProcessor = 'rxvoice-playback';
