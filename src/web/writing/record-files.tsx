/** The files of a record, also those that its text no longer shows. */
import { useQuery } from '@tanstack/react-query'
import { FileText, Paperclip, X } from 'lucide-react'
import { useRef } from 'react'
import { ProblemBox } from '../components/states.tsx'
import { FileTray, isPicture, useFiles } from '../components/text/files.tsx'
import { type FileHolder, filesQuery, useFileStore, useRemoveFile } from './file-stores.ts'
import { words } from './words.ts'

interface Props {
  holder: FileHolder
  may: boolean
}

/** A list for a narrow column. */
export function FileList({ holder, may }: Props) {
  const files = useQuery(filesQuery(holder)).data ?? []
  const remove = useRemoveFile(holder)
  if (files.length === 0) return null
  return (
    <section className="sect stack s1">
      <header>
        <h2 className="h2">{words.files}</h2>
        <span className="n">{files.length}</span>
      </header>
      {remove.error && <ProblemBox error={remove.error} />}
      <ul className="stack s1">
        {files.map((file) => (
          <li key={file.id} className="row tight t13">
            <a className="a cut grow" href={file.path}>
              {file.name}
            </a>
            {may && (
              <RemoveButton name={file.name} disabled={remove.isPending} onRemove={() => remove.mutate(file.id)} />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

const RemoveButton = ({ name, disabled, onRemove }: { name: string; disabled: boolean; onRemove(): void }) => (
  <button type="button" className="ib s24" aria-label={words.removeFile(name)} disabled={disabled} onClick={onRemove}>
    <X className="i s12" aria-hidden />
  </button>
)

const sizeOf = (bytes: number): string =>
  bytes < 1 << 20 ? `${Math.max(1, Math.round(bytes / 1024))} KB` : `${(bytes / 2 ** 20).toFixed(1)} MB`

/** Tiles with previews. Files are added by choosing, pasting or dropping them here. */
export function FileTiles({ holder, may }: Props) {
  const files = useQuery(filesQuery(holder)).data ?? []
  const remove = useRemoveFile(holder)
  const adding = useFiles(useFileStore(holder))
  const picker = useRef<HTMLInputElement>(null)
  if (files.length === 0) return null
  return (
    <div className="stack s1" {...(may && adding.handlers)}>
      {remove.error && <ProblemBox error={remove.error} />}
      <ul className="atts" aria-label={words.files}>
        {files.map(({ id, name, path, size, ...file }) => (
          <li key={id} className="att">
            <a href={path} className="thpic" aria-label={name}>
              {isPicture(file) ? <img src={path} alt="" loading="lazy" /> : <FileText className="i" aria-hidden />}
            </a>
            <span className="row tight thname">
              <span className="cut grow" title={name}>
                {name}
              </span>
              <span className="soft">{sizeOf(size)}</span>
              {may && <RemoveButton name={name} disabled={remove.isPending} onRemove={() => remove.mutate(id)} />}
            </span>
          </li>
        ))}
        {may && (
          <li>
            <button type="button" className="att add" onClick={() => picker.current?.click()}>
              <Paperclip className="i" aria-hidden />
              {words.drop}
            </button>
            <input
              ref={picker}
              className="hide"
              type="file"
              multiple
              tabIndex={-1}
              aria-label={words.attach}
              onChange={(event) => {
                adding.add([...(event.currentTarget.files ?? [])])
                event.currentTarget.value = ''
              }}
            />
          </li>
        )}
      </ul>
      <FileTray files={adding} />
    </div>
  )
}
