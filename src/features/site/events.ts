import { defineEvent, text, texts } from '../../events/catalogue.ts'

const siteEvent = (kind: string) => ({ kind, feed: 'access' }) as const
const titleAndSlug = { title: text, slug: text }
const changedData = { ...titleAndSlug, fields: texts }

export const pageCreated = defineEvent('page.created', {
  ...siteEvent('page'),
  description: 'A page of the public site was created',
  data: titleAndSlug,
})
export const pageUpdated = defineEvent('page.updated', {
  ...siteEvent('page'),
  description: 'A page of the public site was changed',
  data: changedData,
})
export const pageDeleted = defineEvent('page.deleted', {
  deletes: true,
  ...siteEvent('page'),
  description: 'A page of the public site was deleted',
  data: titleAndSlug,
})
export const pageRestored = defineEvent('page.restored', {
  ...siteEvent('page'),
  description: 'A page of the public site was restored',
  data: titleAndSlug,
})
export const postCreated = defineEvent('post.created', {
  ...siteEvent('post'),
  description: 'A post of the blog was created',
  data: titleAndSlug,
})
export const postUpdated = defineEvent('post.updated', {
  ...siteEvent('post'),
  description: 'A post of the blog was changed',
  data: changedData,
})
export const postDeleted = defineEvent('post.deleted', {
  deletes: true,
  ...siteEvent('post'),
  description: 'A post of the blog was deleted',
  data: titleAndSlug,
})
export const postRestored = defineEvent('post.restored', {
  ...siteEvent('post'),
  description: 'A post of the blog was restored',
  data: titleAndSlug,
})
export const categoryCreated = defineEvent('category.created', {
  ...siteEvent('category'),
  description: 'A category of posts was created',
  data: titleAndSlug,
})
export const categoryUpdated = defineEvent('category.updated', {
  ...siteEvent('category'),
  description: 'A category of posts was changed',
  data: changedData,
})
export const categoryDeleted = defineEvent('category.deleted', {
  deletes: true,
  ...siteEvent('category'),
  description: 'A category of posts was deleted; its posts stay',
  data: titleAndSlug,
})
