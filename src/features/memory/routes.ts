import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, object, text } from '../../schema.ts'
import {
  MemoriesCreate,
  MemoriesStored,
  Memory,
  MemoryClear,
  MemoryCleared,
  MemoryCreate,
  MemoryHits,
  MemoryPage,
  MemoryPatch,
  MemoryQuery,
  MemoryRead,
  MemorySearch,
  MemoryStored,
} from './schema.ts'
import * as memory from './service.ts'

const byRef = object({
  id: text(36, { minLength: 8, description: 'Id or id prefix', example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
})

export const memoryRoutes = (http: Http) =>
  http
    .get('/api/memories', ({ ctx, query }) => memory.list(ctx, query), {
      ...on(memory.list, 'List memories of the current team'),
      query: MemoryQuery,
      response: MemoryPage,
    })
    .post(
      '/api/memories',
      async ({ ctx, body, set }) => respondCreated(set, '/api/memories', await memory.store(ctx, body)),
      {
        ...on(memory.store, 'Store a memory; returns similar ones'),
        body: MemoryCreate,
        response: { 201: MemoryStored },
      },
    )
    .post(
      '/api/memories/batch',
      async ({ ctx, body, set }) => {
        set.status = 201
        set.headers.location = '/api/memories'
        return memory.storeMany(ctx, body)
      },
      {
        ...on(memory.storeMany, 'Store several memories, all or none'),
        body: MemoriesCreate,
        response: { 201: MemoriesStored },
      },
    )
    .post('/api/memories/search', ({ ctx, body }) => memory.search(ctx, body), {
      ...on(memory.search, 'Search by meaning and words'),
      body: MemorySearch,
      response: MemoryHits,
    })
    .post('/api/memories/clear', ({ ctx, body }) => memory.clear(ctx, body), {
      ...on(memory.clear, 'Delete all memories of an agent, project or session; the first call returns the count'),
      body: MemoryClear,
      response: MemoryCleared,
    })
    .get('/api/memories/:id', ({ ctx, params }) => memory.get(ctx, { ref: params.id }), {
      ...on(memory.get, 'Get a memory'),
      params: byRef,
      response: MemoryRead,
    })
    .patch('/api/memories/:id', ({ ctx, params, body }) => memory.update(ctx, { ...body, ref: params.id }), {
      ...on(memory.update, 'Change the given fields of a memory'),
      params: byRef,
      body: MemoryPatch,
      response: Memory,
    })
    .delete('/api/memories/:id', ({ ctx, params }) => memory.remove(ctx, { ref: params.id }), {
      ...on(memory.remove, 'Delete a memory'),
      params: byRef,
      response: Deleted,
    })
