import type { MouseEvent } from 'react'

/** Whether the browser opens a tab for a click on a link: with ⌘ or Ctrl. The middle button is no click. */
export const opensTab = ({ metaKey, ctrlKey }: MouseEvent): boolean => metaKey || ctrlKey
