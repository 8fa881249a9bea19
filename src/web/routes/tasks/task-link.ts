import type { MouseEvent } from 'react'

/** The address of a task. `?team=` stays on it, as on every link: keys are unique within a team. */
export function taskHref(key: string): string {
  const team = location.search.includes('team=') && new URLSearchParams(location.search).get('team')
  return `/tasks/${key}${team ? `?team=${encodeURIComponent(team)}` : ''}`
}

/** Whether the browser opens a tab for a click on a link: with ⌘ or Ctrl. The middle button is no click. */
export const opensTab = ({ metaKey, ctrlKey }: MouseEvent): boolean => metaKey || ctrlKey
