/** Words of the reason for a locked button; it loads without the words of the page. */
import type { Blocker } from '../../../features/tasks/dependencies/blocker-schema.ts'

export const words = {
  waitsForTask: (key: string) => `Waits for ${key}`,
  blocker: ({ title, holder, assignee }: Pick<Blocker, 'title' | 'holder' | 'assignee'>, since: string | null) => {
    if (holder) return `${title}, held by ${holder.name}${since ? ` for ${since}` : ''}.`
    return assignee ? `${title}, assigned to ${assignee.name}.` : `${title}.`
  },
  openTask: (key: string) => `Open ${key}`,
  removeDependency: 'Remove the dependency',
} as const
