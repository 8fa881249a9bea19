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
}

const manager = Toast.createToastManager()
const staying = new Set<string>()
const show = ({ id, title, text, bad, action, stays }: ToastText): void => {
  const content = {
    title,
    description: text,
    type: bad ? 'bad' : stays ? 'quiet' : undefined,
    priority: bad ? ('high' as const) : ('low' as const),
    ...(action && { actionProps: { children: action.label, onClick: action.run } }),
  }
  if (id !== undefined && staying.has(id)) manager.update(id, content)
  else manager.add({ ...content, ...(id !== undefined && { id }), ...(stays && { timeout: 0 }) })
  if (id !== undefined && stays) staying.add(id)
}

export function close(id: string): void {
  staying.delete(id)
  manager.close(id)
}

function List() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={toast.type === 'bad' ? 'toast bad' : 'toast'}>
      <Toast.Content className="row">
        <span className="stack s1" aria-live={toast.type === 'quiet' ? 'off' : undefined}>
          <Toast.Title className="b5" />
          <Toast.Description className="t12 soft" />
        </span>
        {toast.actionProps && <Toast.Action className="btn small quiet" />}
        <Toast.Close className="ib s24" aria-label="Close">
          <X className="i s14" aria-hidden />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

interface Props {
  /** Passes waiting and later toasts to the function, until the returned one is called. */
  drain(to: (toast: ToastText) => void): () => void
}

export default function ToastList({ drain }: Props) {
  useEffect(() => drain(show), [drain])
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
