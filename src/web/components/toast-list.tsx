import { Toast } from '@base-ui/react/toast'
import { X } from 'lucide-react'
import { useEffect } from 'react'

export interface ToastText {
  /** A later toast with the same id takes its place. */
  id?: string
  title: string
  text?: string
  /** An error: screen readers announce it at once. */
  bad?: boolean
  action?: { label: string; run(): void }
  /** It stays until `closeToast`, and screen readers do not announce its changes. */
  stays?: true
  /** How far a long change is, from 0 to 1. */
  progress?: number
  /** The record that it is about, after the change that it tells of. */
  about?: RecordVersion | undefined
}

interface RecordVersion {
  id: string
  version: number
}

export interface ShownToasts {
  add(toast: ToastText): void
  close(id: string): void
  closeOlder(recordId: string, version: number): void
}

const manager = Toast.createToastManager<{ progress: number | undefined }>()
const staying = new Set<string>()
/** The records that open toasts are about, by the ids of the toasts. */
const subjects = new Map<string, RecordVersion>()

function add({ id, title, text, bad, action, stays, progress, about }: ToastText): void {
  const content = {
    title,
    description: text,
    data: { progress },
    type: bad ? 'bad' : stays ? 'quiet' : undefined,
    priority: bad ? ('high' as const) : ('low' as const),
    ...(action && { actionProps: { children: action.label, onClick: action.run } }),
  }
  if (id !== undefined && staying.has(id)) {
    manager.update(id, content)
    return
  }
  const toastId = manager.add({
    ...content,
    ...(id !== undefined && { id }),
    ...(stays && { timeout: 0 }),
    onRemove: () => void subjects.delete(toastId),
  })
  if (stays) staying.add(toastId)
  if (about) subjects.set(toastId, about)
}

function close(id: string): void {
  staying.delete(id)
  manager.close(id)
}

function closeOlder(recordId: string, version: number): void {
  for (const [toastId, about] of subjects) if (about.id === recordId && about.version < version) manager.close(toastId)
}

const shownToasts: ShownToasts = { add, close, closeOlder }

function List() {
  const { toasts } = Toast.useToastManager<{ progress: number | undefined }>()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={toast.type === 'bad' ? 'toast bad' : 'toast'}>
      <Toast.Content className="row">
        <span className="stack s1" aria-live={toast.type === 'quiet' ? 'off' : undefined}>
          <Toast.Title className="b5" />
          <Toast.Description className="t12 soft" />
          {toast.data?.progress !== undefined && <Progress share={toast.data.progress} />}
        </span>
        {toast.actionProps && <Toast.Action className="btn small" />}
        <Toast.Close className="ib s24" aria-label="Close">
          <X className="i s14" aria-hidden />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

/** The title says the same in numbers. */
const Progress = ({ share }: { share: number }) => (
  <svg className="meter" aria-hidden>
    <rect className="bg" width="100%" height="100%" />
    <rect className="p" width={`${share * 100}%`} height="100%" />
  </svg>
)

interface Props {
  /** Passes waiting and later toasts to the function, until the returned one is called. */
  drain(to: ShownToasts): () => void
}

export default function ToastList({ drain }: Props) {
  useEffect(() => drain(shownToasts), [drain])
  return (
    <Toast.Provider toastManager={manager} timeout={8000}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}
