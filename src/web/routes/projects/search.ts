/** The query of the page, as its address has it. */
export interface ProjectSearch {
  q?: string
  status?: 'archived'
}

export const projectSearch = (search: Record<string, unknown>): ProjectSearch => ({
  ...(typeof search.q === 'string' && search.q !== '' && { q: search.q }),
  ...(search.status === 'archived' && { status: 'archived' }),
})
