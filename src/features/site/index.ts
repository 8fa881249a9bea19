import type { Feature } from '../../feature.ts'
import { pageCommands, postCommands } from './control.ts'
import * as events from './events.ts'
import { sitePages } from './html.ts'
import { siteRoutes } from './routes.ts'
import { cachedPage } from './serve.ts'
import * as texts from './texts.ts'

export const site: Feature = {
  events: Object.values(events),
  routes: siteRoutes,
  site: sitePages,
  keptPage: cachedPage,
  control: [
    pageCommands.list.handle(texts.listPages),
    pageCommands.get.handle(texts.getPage),
    pageCommands.create.handle(texts.createPage),
    pageCommands.update.handle(texts.updatePage),
    pageCommands.remove.handle(texts.removePage),
    pageCommands.restore.handle(texts.restorePage),
    postCommands.list.handle(texts.listPosts),
    postCommands.get.handle(texts.getPost),
    postCommands.create.handle(texts.createPost),
    postCommands.update.handle(texts.updatePost),
    postCommands.remove.handle(texts.removePost),
    postCommands.restore.handle(texts.restorePost),
  ],
}
