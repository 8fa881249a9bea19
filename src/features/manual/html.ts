import type { PageOf } from '../../feature.ts'
import { manualIndex, manualPage } from '../../pages/pages.ts'
import { get, list } from './service.ts'

export const manualPages: Record<string, PageOf> = {
  '/manual': async (ctx) => manualIndex((await list(ctx, {})).items),
  '/manual/:id': async (ctx, { id = '' }) => manualPage(await get(ctx, { id })),
}
