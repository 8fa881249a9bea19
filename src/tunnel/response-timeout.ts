import type { Upload } from './actions/upload.ts'
import { resetCodes } from './frames.ts'
import type { Stream } from './stream.ts'

/** Milliseconds between two checks of waiting requests. */
const LOOK_MS = 250

interface Waiting {
  readonly stream: Stream
  readonly since: number
  readonly most: number
  readonly upload: Upload | undefined
  /** The request whose client may disconnect; undefined once its signal is watched. */
  request: Request | undefined
}

const waiting = new Set<Waiting>()
const uploads = new Set<Upload>()
let timer: Timer | undefined

/** Resets the stream when the client disconnects, also if it did so while the stream was being opened. */
export function cancelWhenClientLeaves({ signal }: Request, stream: Stream): void {
  signal.addEventListener('abort', () => stream.reset(resetCodes.cancelled), { once: true })
  if (signal.aborted) stream.reset(resetCodes.cancelled)
}

/**
 * Waits for the head of a response, for at most this many milliseconds or until the client disconnects. The time in
 * which the service waits for the request's body does not count. One timer serves all requests, because a timer and a
 * signal for each would cost more than most requests.
 */
export async function awaitResponse(stream: Stream, most: number, request?: Request, upload?: Upload) {
  const entry: Waiting = { stream, since: performance.now(), most, upload, request }
  waiting.add(entry)
  if (upload) uploads.add(upload)
  timer ??= setInterval(checkWaiting, LOOK_MS).unref()
  try {
    return await stream.response()
  } finally {
    waiting.delete(entry)
  }
}

function checkWaiting(): void {
  const now = performance.now()
  for (const upload of uploads) {
    upload.checkProgress(now)
    if (upload.isDone) uploads.delete(upload)
  }
  for (const entry of waiting) {
    const { stream, upload, most } = entry
    const since = upload ? upload.handedOverAt : entry.since
    if (since !== undefined && now - since >= most) stream.reset(resetCodes.timeout)
    if (entry.request) cancelWhenClientLeaves(entry.request, stream)
    entry.request = undefined
  }
  if (waiting.size > 0 || uploads.size > 0) return
  clearInterval(timer)
  timer = undefined
}
