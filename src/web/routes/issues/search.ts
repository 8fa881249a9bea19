/** `?new=1` opens the form, so that a menu anywhere can lead to it. */
interface IssueSearch {
  new?: '1'
}

export const issueSearch = (search: Record<string, unknown>): IssueSearch =>
  search.new === '1' || search.new === 1 || search.new === true ? { new: '1' } : {}
