import { command } from '../../control/command.ts'
import type {
  Page,
  PageCreate,
  PagePage,
  PagePatch,
  PageQuery,
  Post,
  PostCreate,
  PostPage,
  PostPatch,
  PostQuery,
} from './content-schema.ts'

type ById = { id: string }
type Removed = ById & { deleted: true }

/** The commands of the command line for pages and posts, on the server itself. */
export const pageCommands = {
  list: command<PageQuery, PagePage>('site.listPages'),
  get: command<ById, Page>('site.getPage'),
  create: command<PageCreate, Page>('site.createPage'),
  update: command<PagePatch & ById, Page>('site.updatePage'),
  remove: command<ById, Removed>('site.removePage'),
  restore: command<ById, Page>('site.restorePage'),
}
export const postCommands = {
  list: command<PostQuery, PostPage>('site.listPosts'),
  get: command<ById, Post>('site.getPost'),
  create: command<PostCreate, Post>('site.createPost'),
  update: command<PostPatch & ById, Post>('site.updatePost'),
  remove: command<ById, Removed>('site.removePost'),
  restore: command<ById, Post>('site.restorePost'),
}
