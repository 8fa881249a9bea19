import { type ComponentProps, lazy, Suspense } from 'react'

const Loaded = lazy(async () => ({ default: (await import('./menu.tsx')).Menu }))

/** A menu whose script comes after the page: it is large, and nobody needs a menu at first. */
export const LazyMenu = (props: ComponentProps<typeof Loaded>) => (
  <Suspense fallback={props.trigger}>
    <Loaded {...props} />
  </Suspense>
)
