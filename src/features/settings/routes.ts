import { type Http, on } from '../../http/context.ts'
import {
  PublicSetting,
  Seeded,
  Setting,
  SettingByKey,
  SettingList,
  SettingPatch,
  TestEmail,
  TestEmailSent,
} from './schema.ts'
import * as settings from './service.ts'
import { testEmail } from './test-email.ts'

export const settingRoutes = (http: Http) =>
  http
    .get('/api/admin/settings', ({ ctx }) => settings.list(ctx, {}), {
      ...on(settings.list, 'All settings of the instance, with their defaults'),
      response: SettingList,
    })
    .get('/api/admin/settings/:key', ({ ctx, params }) => settings.get(ctx, params), {
      ...on(settings.get, 'A setting of the instance'),
      params: SettingByKey,
      response: Setting,
    })
    .patch('/api/admin/settings/:key', ({ ctx, params, body }) => settings.update(ctx, { ...params, patch: body }), {
      ...on(settings.update, 'Change fields of a setting; null returns one to its default'),
      params: SettingByKey,
      body: SettingPatch,
      response: Setting,
    })
    .post('/api/admin/settings/seed', ({ ctx }) => settings.storeDefaults(ctx, {}), {
      ...on(settings.storeDefaults, 'Store the defaults of settings that have no stored value'),
      response: Seeded,
    })
    .post('/api/admin/settings/test-email', ({ ctx, body }) => testEmail(ctx, body), {
      ...on(testEmail, 'Send a test mail'),
      body: TestEmail,
      response: TestEmailSent,
    })
    .get('/api/public/settings/:key', ({ ctx, params }) => settings.getPublic(ctx, params), {
      ...on(settings.getPublic, 'The public fields of a setting'),
      params: SettingByKey,
      response: PublicSetting,
    })
