/** Files that are uploaded while a text is written: the progress of each, a retry if it failed, and its removal. */
import { FileText, RotateCw, X } from 'lucide-react'
import { type ClipboardEvent, type DragEvent, useRef, useState } from 'react'

const words = {
  files: 'Files',
  progress: (name: string, percent: number) => `Uploading ${name}: ${percent} %`,
  retry: (name: string) => `Upload ${name} again`,
  remove: (name: string) => `Remove ${name}`,
}

export interface StoredFile {
  id: string
  name: string
  /** Its address on this server. */
  path: string
  /** The media type. */
  type: string
  size: number
  createdAt?: string
}

export interface FileStore {
  upload(file: File, onProgress: (share: number) => void, signal: AbortSignal): Promise<StoredFile>
  remove(id: string): Promise<unknown>
}

export interface FileItem {
  /** Counts the files of this editor. */
  key: number
  name: string
  /** From 0 to 1. */
  progress: number
  error?: string
  /** Set once the server has the file. */
  stored?: StoredFile
}

export const isPicture = ({ type: mediaType }: Pick<StoredFile, 'type'>): boolean => mediaType.startsWith('image/')

/** Returns the Markdown that shows a file: a picture itself, any other file as a link. */
export const fileMarkdown = ({ name, path, ...file }: StoredFile): string =>
  `${isPicture(file) ? '!' : ''}[${name.replace(/[[\]\\]/g, '\\$&')}](${path})`

interface FileOptions {
  /** Files that the server has from the beginning. */
  known?: readonly StoredFile[]
  /** The server has a new file. */
  onStored?(file: StoredFile): void
  /** A file that the server had was removed. */
  onRemoved?(file: StoredFile): void
}

export function useFiles(store: FileStore | undefined, { known = [], onStored, onRemoved }: FileOptions = {}) {
  const [items, setItems] = useState<readonly FileItem[]>(() =>
    known.map((stored, place) => ({ key: -place, name: stored.name, progress: 1, stored })),
  )
  const sources = useRef(new Map<number, { file: File; cancel: AbortController }>())
  const count = useRef(0)
  const latest = useRef({ onStored, onRemoved })
  latest.current = { onStored, onRemoved }
  const change = (key: number, next: Partial<FileItem>) =>
    setItems((all) => all.map((item) => (item.key === key ? { ...item, ...next } : item)))
  const upload = async (key: number, file: File) => {
    if (!store) return
    const cancel = new AbortController()
    sources.current.set(key, { file, cancel })
    try {
      const stored = await store.upload(file, (progress) => change(key, { progress }), cancel.signal)
      change(key, { progress: 1, stored })
      latest.current.onStored?.(stored)
    } catch (error) {
      if (!cancel.signal.aborted) change(key, { error: (error as Error).message })
    }
  }
  const add = (files: Iterable<File>) => {
    const added = [...files].map((file) => ({ key: ++count.current, file }))
    setItems((all) => [...all, ...added.map(({ key, file }) => ({ key, name: file.name, progress: 0 }))])
    for (const { key, file } of added) void upload(key, file)
  }
  const retry = ({ key }: FileItem) => {
    const source = sources.current.get(key)
    setItems((all) => all.map((item) => (item.key === key ? { key, name: item.name, progress: 0 } : item)))
    if (source) void upload(key, source.file)
  }
  const remove = async ({ key, stored }: FileItem) => {
    sources.current.get(key)?.cancel.abort()
    setItems((all) => all.filter((item) => item.key !== key))
    if (!stored) return
    latest.current.onRemoved?.(stored)
    // A file that stays is deleted with its record, or after a day.
    await store?.remove(stored.id).catch(() => undefined)
  }
  const clear = () => setItems([])
  const accept = (event: ClipboardEvent | DragEvent, files: FileList) => {
    if (!store || files.length === 0 || event.defaultPrevented) return
    event.preventDefault()
    add([...files])
  }
  return {
    items,
    add,
    retry,
    remove,
    clear,
    isBusy: items.some(({ stored, error }) => !stored && !error),
    /** Handlers of the element that takes pasted and dropped files. */
    handlers: store && {
      onPaste: (event: ClipboardEvent) => accept(event, event.clipboardData.files),
      onDrop: (event: DragEvent) => accept(event, event.dataTransfer.files),
      onDragOver: (event: DragEvent) => event.dataTransfer.types.includes('Files') && event.preventDefault(),
    },
  }
}

export type Files = ReturnType<typeof useFiles>

/** `all`: also shows files that the server has, which are in the text. */
export function FileTray({ files, all }: { files: Files; all?: boolean }) {
  const shown = files.items.filter(({ stored }) => all || !stored)
  if (shown.length === 0) return null
  return (
    <ul className="thumbs" aria-label={words.files}>
      {shown.map((item) => (
        <li key={item.key} className={item.error ? 'thumb failed' : 'thumb'}>
          <Picture item={item} />
          <span className="row tight thname">
            <span className="cut grow" title={item.error ?? item.name}>
              {item.name}
            </span>
            {item.error && (
              <button
                type="button"
                className="ib s24"
                aria-label={words.retry(item.name)}
                onClick={() => files.retry(item)}
              >
                <RotateCw className="i s12" aria-hidden />
              </button>
            )}
            <button
              type="button"
              className="ib s24"
              aria-label={words.remove(item.name)}
              onClick={() => void files.remove(item)}
            >
              <X className="i s12" aria-hidden />
            </button>
          </span>
          {item.error && (
            <span className="therror t12" role="alert">
              {item.error}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function Picture({ item: { name, progress, stored, error } }: { item: FileItem }) {
  if (stored && isPicture(stored)) return <img className="thpic" src={stored.path} alt={name} />
  if (stored || error)
    return (
      <span className="thpic">
        <FileText className="i" aria-hidden />
      </span>
    )
  const percent = Math.round(progress * 100)
  return (
    <span className="thpic">
      <progress value={progress} max={1} aria-label={words.progress(name, percent)} />
    </span>
  )
}
