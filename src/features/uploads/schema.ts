import { binary, id, int, object, type Static, text } from '../../schema.ts'

export const Upload = object({
  file: binary<Uint8Array>('application/octet-stream', { description: 'PNG, JPEG, WebP or GIF' }),
})
export type Upload = Static<typeof Upload>

export const PictureFile = binary<Response>('image/*')

export const SitePicture = object({
  id: id(),
  path: text(100, { example: '/uploads/5f0c2b9e-4f43-4e5e-9d1c-0f6f0a7b1c2d' }),
  type: text(100, { example: 'image/png' }),
  width: int({ example: 1200 }),
  height: int({ example: 630 }),
})
export type SitePicture = Static<typeof SitePicture>
