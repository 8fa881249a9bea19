import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { ProblemBox } from '../../components/states.tsx'
import { noteFilesQuery, useRemoveFile } from './queries.ts'
import { words } from './words.ts'

/** The files of a note, also those that its text no longer shows. */
export function NoteFiles({ id, may }: { id: string; may: boolean }) {
  const files = useQuery(noteFilesQuery(id)).data ?? []
  const remove = useRemoveFile(id)
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
              <button
                type="button"
                className="ib s24"
                aria-label={words.removeFile(file.name)}
                disabled={remove.isPending}
                onClick={() => remove.mutate(file.id)}
              >
                <X className="i s12" aria-hidden />
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
