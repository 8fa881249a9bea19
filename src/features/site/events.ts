import { define, text, texts } from '../../events/catalogue.ts'

const of = (kind: string) => ({ kind, feed: 'access' }) as const
const named = { title: text, slug: text }
const changed = { ...named, fields: texts }

export const pageCreated = define('page.created', {
  ...of('page'),
  description: 'A page of the public site was created',
  data: named,
})
export const pageUpdated = define('page.updated', {
  ...of('page'),
  description: 'A page of the public site was changed',
  data: changed,
})
export const pageDeleted = define('page.deleted', {
  deletes: true,
  ...of('page'),
  description: 'A page of the public site was deleted',
  data: named,
})
export const pageRestored = define('page.restored', {
  ...of('page'),
  description: 'A page of the public site was restored',
  data: named,
})
export const postCreated = define('post.created', {
  ...of('post'),
  description: 'A post of the blog was created',
  data: named,
})
export const postUpdated = define('post.updated', {
  ...of('post'),
  description: 'A post of the blog was changed',
  data: changed,
})
export const postDeleted = define('post.deleted', {
  deletes: true,
  ...of('post'),
  description: 'A post of the blog was deleted',
  data: named,
})
export const postRestored = define('post.restored', {
  ...of('post'),
  description: 'A post of the blog was restored',
  data: named,
})
export const categoryCreated = define('category.created', {
  ...of('category'),
  description: 'A category of posts was created',
  data: named,
})
export const categoryUpdated = define('category.updated', {
  ...of('category'),
  description: 'A category of posts was changed',
  data: changed,
})
export const categoryDeleted = define('category.deleted', {
  deletes: true,
  ...of('category'),
  description: 'A category of posts was deleted; its posts stay',
  data: named,
})
