import { Toast } from '@base-ui/react/toast'
import { X } from 'lucide-react'
import { useEffect } from 'react'

export interface ToastText {
  title: string
  text?: string
  /** An error: screen readers announce it at once. */
  bad?: boolean
  action?: { label: string; run(): void }
}

const manager = Toast.createToastManager()
const show = ({ title, text, bad, action }: ToastText): void => {
  manager.add({
    title,
    description: text,
    type: bad ? 'bad' : undefined,
    priority: bad ? 'high' : 'low',
    ...(action && { actionProps: { children: action.label, onClick: action.run } }),
  })
}

function List() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={toast.type === 'bad' ? 'toast bad' : 'toast'}>
      <Toast.Content className="row">
        <span className="stack s1">
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
