/** What a new chat is about, as the address has it. */
interface AssistantSearch {
  /** On a phone: a new chat instead of the list. */
  new?: '1'
  projectId?: string
  repositoryId?: string
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f-]{36}$/i.test(value)

export const assistantSearch = ({ projectId, repositoryId, new: fresh }: Record<string, unknown>): AssistantSearch => ({
  ...(isId(projectId) && { projectId }),
  ...(isId(repositoryId) && { repositoryId }),
  ...((fresh === '1' || fresh === 1) && { new: '1' }),
})
