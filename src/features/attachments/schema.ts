import { holderNames } from '../../records/names.ts'
import {
  binary,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  pageOf,
  paging,
  partial,
  type Static,
  text,
  title,
} from '../../schema.ts'

/** Bytes of one file. */
export const FILE_BYTES = 10 << 20

const name = title(200, { example: 'covers.png', description: 'The extension decides whether the file is accepted' })

export const Attachment = object({
  id: id(),
  kind: oneOf(holderNames),
  recordId: id(),
  name,
  type: text(100, {
    example: 'image/png',
    description: 'Pictures have their own type; other files have application/octet-stream',
  }),
  size: int({ example: 18_204, description: 'Bytes' }),
  path: text(100, { example: '/api/uploads/5f0c2b9e-4f43-4e5e-9d1c-0f6f0a7b1c2d' }),
  createdById: nullable(id()),
  createdAt: instant(),
})
export type Attachment = Static<typeof Attachment>
export const AttachmentPage = pageOf(Attachment)
export type AttachmentPage = Static<typeof AttachmentPage>

const Holder = object({
  kind: oneOf(holderNames, { example: 'note' }),
  recordId: id({ description: 'The record whose text contains the file' }),
})
export const AttachmentQuery = object({ ...paging('createdAt'), ...partial(Holder).properties })
export type AttachmentQuery = Static<typeof AttachmentQuery>
export const AttachmentAdd = object({ ...Holder.properties, name })
export type AttachmentAdd = Static<typeof AttachmentAdd>

/** A file that waits for the record whose creation names it. */
const { kind: _, recordId: __, createdById: ___, ...pending } = Attachment.properties
export const PendingUpload = object(pending)
export type PendingUpload = Static<typeof PendingUpload>
export const PendingAdd = object({ name })
export type PendingAdd = Static<typeof PendingAdd>

export const Upload = object({
  file: binary<Uint8Array>('application/octet-stream', { description: 'At most 10 MiB' }),
})
export type Upload = Static<typeof Upload>

/** The file itself. */
export const AttachedFile = binary<Response>('*/*', {
  description: 'A picture with its type, another file as application/octet-stream',
})
