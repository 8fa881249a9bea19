import { encodePart, encodePath, githubLike } from './github.ts'
import { fieldsOf, type HostProvider, readList } from './host.ts'

/** Gitea and Forgejo. */
export const gitea: HostProvider = {
  authorization: (token) => ({ authorization: `token ${token}` }),
  headers: {},
  scopes: 'the scopes read:user and write:repository',
  ...githubLike({
    perPage: (count, page) => `limit=${count}&page=${page}`,
    pageSize: 50,
    pullPath: 'pulls',
    commitPath: (ref) => `/git/commits/${encodePart(ref)}`,
    async existing(client, root, head, base) {
      const { body } = await client.ask('GET', `${root}/pulls?state=open&sort=recentupdate&limit=50`)
      const branch = head.split(':').pop()
      return readList(client, body).find((row) => fieldsOf(row.head).ref === branch && fieldsOf(row.base).ref === base)
    },
    async makeBranch(client, root, name, from) {
      await client.ask('POST', `${root}/branches`, {
        body: { new_branch_name: name, old_branch_name: from },
        allow: [409],
      })
    },
    treePage: (page) => `recursive=true&per_page=1000&page=${page}`,
    filePath: (path, ref, from, to) => `src/commit/${encodePart(ref)}/${encodePath(path)}#L${from}-L${to}`,
    createWith: 'POST',
    // Addresses contain run numbers of the repository, but the API needs ids of the server. Older servers have no API.
    takesRunNumbers: false,
  }),
}
