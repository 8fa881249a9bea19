import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { Toasts } from './components/toasts.tsx'
import { queryClient } from './query-client.ts'
import { router } from './router.ts'
import { registerServiceWorker } from './service-worker.ts'

// A page restored from the browser's cache is reloaded: the user may have signed out since.
window.addEventListener('pageshow', ({ persisted }) => persisted && location.reload())

registerServiceWorker()

createRoot(document.getElementById('root') as HTMLElement).render(
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </CSPProvider>,
)
