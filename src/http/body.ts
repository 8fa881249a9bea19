import { AppError } from '../errors.ts'
import { jsonDepth, MOST_DEPTH } from '../text/json-depth.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the JSON body, limited in size and depth before it is parsed. An absent body is `{}`: validation then names the
 * missing fields, if any are required.
 */
export async function readJson(request: Request, most: number): Promise<unknown> {
  const bytes = await readBytes(request, most)
  if (bytes.byteLength === 0) return {}
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json' && !mediaType?.endsWith('+json'))
    throw new AppError(
      'unsupported_media',
      `Send JSON with "Content-Type: application/json"${mediaType ? `, not ${mediaType}` : ''}.`,
    )
  return parseJson(bytes)
}

export function parseJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw new AppError('invalid.malformed', 'The body is not valid UTF-8.')
  }
  if (jsonDepth(text) > MOST_DEPTH)
    throw new AppError('invalid', `The JSON is nested more than ${MOST_DEPTH} levels deep.`)
  if (/"__proto__"\s*:/.test(text)) throw new AppError('invalid', 'A field must not be named __proto__.')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AppError('invalid.malformed', `The body cannot be read. ${(error as Error).message}.`)
  }
}

export const bodyTooLarge = (most: number) => new AppError('too_large', `The body is larger than ${most} bytes.`)

/** Stops reading at the limit, also for chunked bodies, which do not declare their length. */
export async function readBytes(request: Request, most: number, said = most): Promise<Uint8Array<ArrayBuffer>> {
  if (request.headers.get('content-encoding'))
    throw new AppError('unsupported_media', 'Compressed bodies are not accepted.')
  const length = request.headers.get('content-length')
  if (length !== null) {
    if (Number(length) > most) throw bodyTooLarge(said)
    return new Uint8Array(await request.arrayBuffer())
  }
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > most) throw bodyTooLarge(said)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
