import { binary, object, type Static } from '../../schema.ts'

export const Upload = object({
  file: binary<Uint8Array>('application/octet-stream', { description: 'PNG, JPEG, WebP or GIF' }),
})
export type Upload = Static<typeof Upload>

/** The file itself. */
export const PictureFile = binary<Response>('image/*')
