import { AppError } from '../../errors.ts'
import { readPicture } from '../uploads/images.ts'

/** Other files than pictures are only ever downloaded, as bytes without a type, so that no browser runs them. */
const DOWNLOAD = 'application/octet-stream'

const pictures = new Set(['png', 'jpg', 'jpeg', 'webp', 'gif'])
const others = new Set(
  'pdf txt md csv tsv json yaml yml toml xml log diff patch sql zip gz tgz tar docx xlsx pptx odt ods odp'.split(' '),
)

const extensionOf = (name: string): string => /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toLowerCase() ?? ''

/** Returns the file to store. Pictures are checked and lose their metadata, such as the location. */
export function checkUpload(name: string, file: Uint8Array): { type: string; bytes: Uint8Array } {
  const extension = extensionOf(name)
  if (pictures.has(extension)) return readPicture(file)
  if (others.has(extension)) return { type: DOWNLOAD, bytes: file }
  throw new AppError(
    'unsupported_media',
    `Files like ${name.slice(-40)} are not accepted. Send a picture (${[...pictures].join(', ')}), or one of: ${[...others].join(', ')}.`,
  )
}

/** A name for the header `content-disposition`: no paths, no quotes, nothing that ends a header. */
export function contentDisposition(type: string, name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\/%;]/g, '_')
  const exact = encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  return `${type === DOWNLOAD ? 'attachment' : 'inline'}; filename="${plain}"; filename*=UTF-8''${exact}`
}
