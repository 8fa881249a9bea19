import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { options } from 'preact'
import { createRoot } from 'react-dom/client'
import { Toasts } from './components/toasts.tsx'
import { queryClient } from './query-client.ts'
import { router } from './router.ts'
import { registerServiceWorker } from './service-worker.ts'

// A page restored from the browser's cache is reloaded: the user may have signed out since.
window.addEventListener('pageshow', ({ persisted }) => persisted && location.reload())

// Effects run with the change, as React does after a key or a click. By default they run after the next frame, and a
// key that is pressed before that would find no handler.
options.requestAnimationFrame = queueMicrotask

registerServiceWorker()

createRoot(document.getElementById('root') as HTMLElement).render(
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </CSPProvider>,
)
