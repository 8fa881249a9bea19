import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, id, object } from '../../schema.ts'
import * as categories from './categories.ts'
import {
  BySlug,
  Category,
  CategoryCreate,
  CategoryList,
  CategoryPatch,
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
  PublicCategoryList,
  PublicPage,
  PublicPost,
  PublicPostPage,
  PublicPostQuery,
  Sitemap,
  TEXT_BODY,
} from './content-schema.ts'
import * as visitors from './public.ts'
import { PublicFindQuery, PublicFoundList } from './schema.ts'
import * as site from './service.ts'
import { generateSitemap } from './sitemap.ts'
import * as texts from './texts.ts'

const byId = object({ id: id() })
const long = { maxBody: TEXT_BODY }

export const siteRoutes = (http: Http) =>
  http
    .get('/api/search/public', ({ ctx, query }) => site.findPublic(ctx, query), {
      ...on(site.findPublic, 'Search public records'),
      query: PublicFindQuery,
      response: PublicFoundList,
    })
    .get('/api/admin/pages', ({ ctx, query }) => texts.listPages(ctx, query), {
      ...on(texts.listPages, 'Pages of the public site, without their texts'),
      query: PageQuery,
      response: PagePage,
    })
    .post(
      '/api/admin/pages',
      async ({ ctx, body, set }) => respondCreated(set, '/api/admin/pages', await texts.createPage(ctx, body)),
      { ...on(texts.createPage, 'Create a page of the public site', long), body: PageCreate, response: { 201: Page } },
    )
    .get('/api/admin/pages/:id', ({ ctx, params }) => texts.getPage(ctx, params), {
      ...on(texts.getPage, 'A page of the public site'),
      params: byId,
      response: Page,
    })
    .put('/api/admin/pages/:id', ({ ctx, params, body }) => texts.updatePage(ctx, { ...body, ...params }), {
      ...on(texts.updatePage, 'Change a page; only the fields that are sent', long),
      params: byId,
      body: PagePatch,
      response: Page,
    })
    .delete('/api/admin/pages/:id', ({ ctx, params }) => texts.removePage(ctx, params), {
      ...on(texts.removePage, 'Delete a page; it is gone for visitors at once'),
      params: byId,
      response: Deleted,
    })
    .post('/api/admin/pages/:id/restore', ({ ctx, params }) => texts.restorePage(ctx, params), {
      ...on(texts.restorePage, 'Restore a page that was deleted in the last 30 days'),
      params: byId,
      response: Page,
    })
    .get('/api/admin/posts', ({ ctx, query }) => texts.listPosts(ctx, query), {
      ...on(texts.listPosts, 'Posts of the blog, without their texts'),
      query: PostQuery,
      response: PostPage,
    })
    .post(
      '/api/admin/posts',
      async ({ ctx, body, set }) => respondCreated(set, '/api/admin/posts', await texts.createPost(ctx, body)),
      { ...on(texts.createPost, 'Create a post of the blog', long), body: PostCreate, response: { 201: Post } },
    )
    .get('/api/admin/posts/:id', ({ ctx, params }) => texts.getPost(ctx, params), {
      ...on(texts.getPost, 'A post of the blog'),
      params: byId,
      response: Post,
    })
    .put('/api/admin/posts/:id', ({ ctx, params, body }) => texts.updatePost(ctx, { ...body, ...params }), {
      ...on(texts.updatePost, 'Change a post; only the fields that are sent', long),
      params: byId,
      body: PostPatch,
      response: Post,
    })
    .delete('/api/admin/posts/:id', ({ ctx, params }) => texts.removePost(ctx, params), {
      ...on(texts.removePost, 'Delete a post; it is gone for visitors at once'),
      params: byId,
      response: Deleted,
    })
    .post('/api/admin/posts/:id/restore', ({ ctx, params }) => texts.restorePost(ctx, params), {
      ...on(texts.restorePost, 'Restore a post that was deleted in the last 30 days'),
      params: byId,
      response: Post,
    })
    .get('/api/admin/categories', ({ ctx }) => categories.listCategories(ctx, {}), {
      ...on(categories.listCategories, 'Categories of posts, with the number of their posts'),
      response: CategoryList,
    })
    .post(
      '/api/admin/categories',
      async ({ ctx, body, set }) =>
        respondCreated(set, '/api/admin/categories', await categories.createCategory(ctx, body)),
      {
        ...on(categories.createCategory, 'Create a category of posts'),
        body: CategoryCreate,
        response: { 201: Category },
      },
    )
    .put(
      '/api/admin/categories/:id',
      ({ ctx, params, body }) => categories.updateCategory(ctx, { ...body, ...params }),
      {
        ...on(categories.updateCategory, 'Change a category of posts'),
        params: byId,
        body: CategoryPatch,
        response: Category,
      },
    )
    .delete('/api/admin/categories/:id', ({ ctx, params }) => categories.removeCategory(ctx, params), {
      ...on(categories.removeCategory, 'Delete a category; its posts stay, without one'),
      params: byId,
      response: Deleted,
    })
    .post('/api/admin/settings/generate-sitemap', ({ ctx }) => generateSitemap(ctx, {}), {
      ...on(generateSitemap, 'Where the sitemap is, and how many addresses it has', { answers: [409] }),
      response: Sitemap,
    })
    .get('/api/public/pages/:slug', ({ ctx, params }) => visitors.readPage(ctx, params), {
      ...on(visitors.readPage, 'Read a page of the public site'),
      params: BySlug,
      response: PublicPage,
    })
    .get('/api/public/posts', ({ ctx, query }) => visitors.readPosts(ctx, query), {
      ...on(visitors.readPosts, 'Published posts, the newest first', { answers: [404] }),
      query: PublicPostQuery,
      response: PublicPostPage,
    })
    .get('/api/public/posts/:slug', ({ ctx, params }) => visitors.readPost(ctx, params), {
      ...on(visitors.readPost, 'Read a post of the blog'),
      params: BySlug,
      response: PublicPost,
    })
    .get('/api/public/categories', ({ ctx }) => visitors.readCategories(ctx, {}), {
      ...on(visitors.readCategories, 'Categories of posts, with the number of published ones', { answers: [404] }),
      response: PublicCategoryList,
    })
