/**
 * Compresses answers of the API for the dashboard. Only answers with an ETag: those are whole JSON texts of reads and
 * never streams, and no read returns a secret. Only requests that our own pages sent, which browsers mark: the length
 * of a compressed answer must not tell other sites about its content (BREACH). Programs on the same machine or network
 * get the plain text, which costs less CPU time.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** Shorter answers fit into one packet. */
const SHORTEST = 1024
/** Longer ones take more than half a millisecond, so another thread compresses them. */
const LONGEST_AT_ONCE = 32 * 1024

/** Preferred first. On JSON, zstd takes half the time of gzip and is smaller. */
const encoders = {
  zstd: { atOnce: (bytes: Bytes) => Bun.zstdCompressSync(bytes), elsewhere: (bytes: Bytes) => Bun.zstdCompress(bytes) },
  gzip: { atOnce: (bytes: Bytes) => Bun.gzipSync(bytes), elsewhere: promisify(gzip) },
}
type Bytes = Uint8Array<ArrayBuffer>

export const acceptsEncoding = (request: Request, encoding: string): boolean =>
  (request.headers.get('accept-encoding') ?? '').split(',').some((part) => {
    const [name, quality] = part.trim().split(';')
    return name === encoding && !/^\s*q=0(\.0*)?$/.test(quality ?? '')
  })

/** Returns the answer compressed, or as it is if that would not help or must not be. */
export async function compressAnswer(request: Request, answer: Response): Promise<Response> {
  if (request.headers.get('sec-fetch-site') !== 'same-origin' || !isWholeJson(answer)) return answer
  const encoding = (['zstd', 'gzip'] as const).find((name) => acceptsEncoding(request, name))
  if (!encoding) return answer
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const headers = new Headers(answer.headers)
  if (bytes.length < SHORTEST) return new Response(bytes, { headers })
  const { atOnce, elsewhere } = encoders[encoding]
  const body = bytes.length > LONGEST_AT_ONCE ? await elsewhere(bytes) : atOnce(bytes)
  headers.set('content-encoding', encoding)
  headers.append('vary', 'Accept-Encoding')
  // The same text in other bytes.
  headers.set('etag', `W/${headers.get('etag')}`)
  return new Response(body as Bytes, { headers })
}

const isWholeJson = ({ status, headers }: Response): boolean =>
  status === 200 &&
  headers.has('etag') &&
  !headers.has('content-encoding') &&
  (headers.get('content-type')?.startsWith('application/json') ?? false)
