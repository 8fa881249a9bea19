/** Pictures of the public site: shown, replaced, described and removed. */
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { SitePicture } from '../../../features/uploads/schema.ts'
import { sendFile } from '../../api.ts'
import { Field } from '../../components/form/fields.tsx'
import { PicturePicker } from '../../components/form/picture-picker.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { words } from './words.ts'

export const sendPicture = (file: File) => sendFile<SitePicture>('/api/admin/uploads', file)

interface PictureProps {
  label: string
  id: string | null
  /** What it shows. */
  alt: string | null
  onChange(id: string | null): void
  children?: ReactNode
}

export function PictureField({ label, id, alt, onChange, children }: PictureProps) {
  const { mutate, isPending, error } = useMutation({ mutationFn: sendPicture, onSuccess: ({ id }) => onChange(id) })
  return (
    <div className="field md" role="group" aria-label={label}>
      <span>{label}</span>
      {id && <img src={`/uploads/${id}`} alt={alt ?? ''} style={{ maxBlockSize: 200 }} />}
      <span className="row wraps">
        <PicturePicker label={id ? words.replacePicture : words.choosePicture} busy={isPending} onFile={mutate} />
        {id && (
          <button type="button" className="btn quiet" onClick={() => onChange(null)}>
            {words.removePicture}
          </button>
        )}
      </span>
      {error && <ProblemBox error={error} />}
      {id && children}
    </div>
  )
}

export interface Cover {
  coverId: string | null
  coverAlt: string | null
}

/** The picture above a page or a post, and what it shows. */
export const CoverField = ({ coverId, coverAlt, onChange }: Cover & { onChange(cover: Cover): void }) => (
  <PictureField
    label={words.cover}
    id={coverId}
    alt={coverAlt}
    onChange={(id) => onChange({ coverId: id, coverAlt: id && coverAlt })}
  >
    <Field
      label={words.coverAlt}
      maxLength={300}
      value={coverAlt ?? ''}
      onText={(value) => onChange({ coverId, coverAlt: value || null })}
    />
  </PictureField>
)
