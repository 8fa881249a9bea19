/** Words of the reason for a locked button; it loads without the words of the page. */
export const words = {
  waitsForTask: (key: string) => `Waits for ${key}`,
  blocker: (title: string, holder: string | undefined, assignee: string | undefined) =>
    holder ? `${title}, held by ${holder}.` : assignee ? `${title}, assigned to ${assignee}.` : `${title}.`,
  openTask: (key: string) => `Open ${key}`,
  removeDependency: 'Remove the dependency',
} as const
