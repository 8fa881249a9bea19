import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, object, text } from '../../schema.ts'
import { PublicSkill, Skill, SkillCreate, SkillDetail, SkillPage, SkillPatch, SkillQuery, SkillRef } from './schema.ts'
import * as skills from './service.ts'

export const skillRoutes = (http: Http) =>
  http
    .get('/api/skills', ({ ctx, query }) => skills.list(ctx, query), {
      ...on(skills.list, 'List skills: your personal ones, those of the current team, and public ones'),
      query: SkillQuery,
      response: SkillPage,
    })
    .post(
      '/api/skills',
      async ({ ctx, body, set }) => respondCreated(set, '/api/skills', await skills.create(ctx, body)),
      {
        ...on(skills.create, 'Create a skill'),
        body: SkillCreate,
        response: { 201: Skill },
      },
    )
    .get('/api/skills/public/:slug', ({ ctx, params }) => skills.getPublic(ctx, params), {
      ...on(skills.getPublic, 'Read a public skill'),
      params: object({ slug: text(80, { example: 'review-a-migration-x7k2p9' }) }),
      response: PublicSkill,
    })
    .get('/api/skills/:id', ({ ctx, params }) => skills.get(ctx, { ref: params.id }), {
      ...on(skills.get, 'Get one skill'),
      params: SkillRef,
      response: SkillDetail,
    })
    .put('/api/skills/:id', ({ ctx, params, body }) => skills.update(ctx, { ref: params.id, ...body }), {
      ...on(skills.update, 'Change the given fields of a skill'),
      params: SkillRef,
      body: SkillPatch,
      response: Skill,
    })
    .delete('/api/skills/:id', ({ ctx, params }) => skills.remove(ctx, { ref: params.id }), {
      ...on(skills.remove, 'Delete a skill'),
      params: SkillRef,
      response: Deleted,
    })
    .post('/api/skills/:id/restore', ({ ctx, params }) => skills.restore(ctx, { ref: params.id }), {
      ...on(skills.restore, 'Restore a skill that was deleted in the last 30 days'),
      params: SkillRef,
      response: Skill,
    })
