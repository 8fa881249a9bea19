import { AppError, invalid } from '../errors.ts'
import { bodyTooLarge, readBytes } from './body.ts'

/** Room for the form's own bytes around its file. */
const ENVELOPE = 16 << 10
const OF_ONE_USER = 2
const AT_ONCE = 3

/**
 * A file is held in memory, and copied several times while it is parsed and stored. So a user can have two uploads at
 * once, and only a few received files are processed at a time; the others wait as plain bytes. A slow sender delays no
 * other upload.
 */
export class Uploads {
  readonly #users = new Map<Request, string>()
  readonly #working = new Set<Request>()
  readonly #waiting: (() => void)[] = []

  /** The caller must always call `end` afterwards. */
  async read(request: Request, userId: string, most: number): Promise<{ file: Uint8Array }> {
    const mediaType = request.headers.get('content-type') ?? ''
    if (!/^multipart\/form-data *;/i.test(mediaType))
      throw new AppError(
        'unsupported_media',
        'Send a form (multipart/form-data) with one field "file" that holds the picture.',
      )
    if ([...this.#users.values()].filter((id) => id === userId).length >= OF_ONE_USER)
      throw new AppError('rate_limited', `You have ${OF_ONE_USER} uploads under way. Wait for them to finish.`, {
        retryAfter: 1,
      })
    this.#users.set(request, userId)
    const bytes = await readBytes(request, most + ENVELOPE, most)
    if (this.#working.size >= AT_ONCE) await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    this.#working.add(request)
    const file = await fileOf(bytes, mediaType)
    if (file.length > most) throw bodyTooLarge(most)
    return { file }
  }

  end(request: Request): void {
    if (this.#users.delete(request) && this.#working.delete(request)) this.#waiting.shift()?.()
  }
}

/** Returns the only file of a form. Its declared name and type are ignored. */
async function fileOf(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<Uint8Array> {
  let form: Awaited<ReturnType<Response['formData']>>
  try {
    form = await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch {
    throw new AppError('invalid.malformed', 'The form cannot be read.')
  }
  const entries = [...form]
  const other = entries.find(([name]) => name !== 'file')?.[0].slice(0, 100)
  if (other !== undefined) throw invalid(`/${other}`, `${other} is not a known field.`, 'unknown_field')
  const [entry] = entries
  if (!entry) throw invalid('/file', 'file is required.', 'required')
  if (entries.length > 1) throw invalid('/file', 'Send one file only.', 'too_many')
  if (typeof entry[1] === 'string') throw invalid('/file', 'file must be a file, not a text.', 'type')
  return new Uint8Array(await entry[1].arrayBuffer())
}
