// Written by `bun run migration`.
import type { Migration } from '../src/db/migrate.ts'
import m1 from './0001_init.sql' with { type: 'text' }
import m2 from './0002_identity.sql' with { type: 'text' }
import m3 from './0003_one_open_secret.sql' with { type: 'text' }
import m4 from './0004_integration_deliveries.sql' with { type: 'text' }
import m5 from './0005_indexes_for_purge.sql' with { type: 'text' }
import m6 from './0006_knowledge.sql' with { type: 'text' }
import m7 from './0007_passage_titles.sql' with { type: 'text' }
import m8 from './0008_repositories.sql' with { type: 'text' }
import m9 from './0009_session_credential.sql' with { type: 'text' }
import m10 from './0010_lease_credential.sql' with { type: 'text' }
import m11 from './0011_passage_bits.sql' with { type: 'text' }
import m12 from './0012_activity_lookups.sql' with { type: 'text' }
import m13 from './0013_passage_signs.sql' with { type: 'text' }
import m14 from './0014_links_of_their_ends.sql' with { type: 'text' }
import m15 from './0015_notes_by_link.sql' with { type: 'text' }
import m16 from './0016_what_is_public.sql' with { type: 'text' }
import m17 from './0017_indexes_of_teams.sql' with { type: 'text' }
import m18 from './0018_activity_log.sql' with { type: 'text' }
import m19 from './0019_skill_placeholders.sql' with { type: 'text' }
import m20 from './0020_events_by_number.sql' with { type: 'text' }
import m21 from './0021_invite_handed_over.sql' with { type: 'text' }
import m22 from './0022_identity_issuer.sql' with { type: 'text' }
import m23 from './0023_notification_record.sql' with { type: 'text' }
import m24 from './0024_acceptance_setting.sql' with { type: 'text' }
import m25 from './0025_workers.sql' with { type: 'text' }
import m26 from './0026_readiness.sql' with { type: 'text' }
import m27 from './0027_tasks_updated.sql' with { type: 'text' }
import m28 from './0028_invites_kept.sql' with { type: 'text' }
import m29 from './0029_counts_and_scopes.sql' with { type: 'text' }
import m30 from './0030_session_connections.sql' with { type: 'text' }
import m31 from './0031_task_counts.sql' with { type: 'text' }
import m32 from './0032_sync.sql' with { type: 'text' }
import m33 from './0033_passages_newest.sql' with { type: 'text' }
import m34 from './0034_transfer.sql' with { type: 'text' }
import m35 from './0035_vector_numbers.sql' with { type: 'text' }
import m36 from './0036_event_days.sql' with { type: 'text' }
import m37 from './0037_imported_records_organization.sql' with { type: 'text' }
import m38 from './0038_passages_title_starts.sql' with { type: 'text' }
import m39 from './0039_sums_anew.sql' with { type: 'text' }
import m40 from './0040_task_days.sql' with { type: 'text' }
import m41 from './0041_task_orders.sql' with { type: 'text' }
import m42 from './0042_evidence_verified.sql' with { type: 'text' }
import m43 from './0043_now_and_replay.sql' with { type: 'text' }
import m44 from './0044_mcp_token_clients.sql' with { type: 'text' }
import m45 from './0045_trash.sql' with { type: 'text' }
import m46 from './0046_inbox.sql' with { type: 'text' }
import m47 from './0047_comments_and_views.sql' with { type: 'text' }
import m48 from './0048_refresh_grace.sql' with { type: 'text' }
import m49 from './0049_attachments.sql' with { type: 'text' }
import m50 from './0050_attachments_stay.sql' with { type: 'text' }
import m51 from './0051_views_by_project.sql' with { type: 'text' }
import m52 from './0052_site.sql' with { type: 'text' }
import m53 from './0053_assistant.sql' with { type: 'text' }
import m54 from './0054_community.sql' with { type: 'text' }
import m55 from './0055_tunnels.sql' with { type: 'text' }
import m56 from './0056_task_sums_by_statement.sql' with { type: 'text' }
import m57 from './0057_dependency_ids.sql' with { type: 'text' }
import m58 from './0058_task_orders_of_team.sql' with { type: 'text' }
import m59 from './0059_site_cover_alt.sql' with { type: 'text' }
import m60 from './0060_grants.sql' with { type: 'text' }
import m61 from './0061_tunnel_actions.sql' with { type: 'text' }
import m62 from './0062_skill_calls.sql' with { type: 'text' }
import m63 from './0063_tunnel_instances.sql' with { type: 'text' }
import m64 from './0064_tunnel_former_slugs.sql' with { type: 'text' }
import m65 from './0065_large_owners.sql' with { type: 'text' }
import m66 from './0066_agent_continuity.sql' with { type: 'text' }
import m67 from './0067_search_comments.sql' with { type: 'text' }
import m68 from './0068_workspace_invites.sql' with { type: 'text' }
import m69 from './0069_limited_credentials.sql' with { type: 'text' }
import m70 from './0070_agent_skills.sql' with { type: 'text' }
import m71 from './0071_feature_evidence_missing.sql' with { type: 'text' }
import m72 from './0072_push_subscriptions.sql' with { type: 'text' }
import m73 from './0073_changes.sql' with { type: 'text' }
import m74 from './0074_pending_uploads.sql' with { type: 'text' }
import m75 from './0075_notification_rules.sql' with { type: 'text' }
import m76 from './0076_project_colors.sql' with { type: 'text' }
import m77 from './0077_change_jobs.sql' with { type: 'text' }

export const migrations: Migration[] = [
  { id: '0001_init', sql: m1 },
  { id: '0002_identity', sql: m2 },
  { id: '0003_one_open_secret', sql: m3 },
  { id: '0004_integration_deliveries', sql: m4 },
  { id: '0005_indexes_for_purge', sql: m5 },
  { id: '0006_knowledge', sql: m6 },
  { id: '0007_passage_titles', sql: m7 },
  { id: '0008_repositories', sql: m8 },
  { id: '0009_session_credential', sql: m9 },
  { id: '0010_lease_credential', sql: m10 },
  { id: '0011_passage_bits', sql: m11 },
  { id: '0012_activity_lookups', sql: m12 },
  { id: '0013_passage_signs', sql: m13 },
  { id: '0014_links_of_their_ends', sql: m14 },
  { id: '0015_notes_by_link', sql: m15 },
  { id: '0016_what_is_public', sql: m16 },
  { id: '0017_indexes_of_teams', sql: m17 },
  { id: '0018_activity_log', sql: m18 },
  { id: '0019_skill_placeholders', sql: m19 },
  { id: '0020_events_by_number', sql: m20 },
  { id: '0021_invite_handed_over', sql: m21 },
  { id: '0022_identity_issuer', sql: m22 },
  { id: '0023_notification_record', sql: m23 },
  { id: '0024_acceptance_setting', sql: m24 },
  { id: '0025_workers', sql: m25 },
  { id: '0026_readiness', sql: m26 },
  { id: '0027_tasks_updated', sql: m27 },
  { id: '0028_invites_kept', sql: m28 },
  { id: '0029_counts_and_scopes', sql: m29 },
  { id: '0030_session_connections', sql: m30 },
  { id: '0031_task_counts', sql: m31 },
  { id: '0032_sync', sql: m32 },
  { id: '0033_passages_newest', sql: m33 },
  { id: '0034_transfer', sql: m34 },
  { id: '0035_vector_numbers', sql: m35 },
  { id: '0036_event_days', sql: m36 },
  { id: '0037_imported_records_organization', sql: m37 },
  { id: '0038_passages_title_starts', sql: m38 },
  { id: '0039_sums_anew', sql: m39 },
  { id: '0040_task_days', sql: m40 },
  { id: '0041_task_orders', sql: m41 },
  { id: '0042_evidence_verified', sql: m42 },
  { id: '0043_now_and_replay', sql: m43 },
  { id: '0044_mcp_token_clients', sql: m44 },
  { id: '0045_trash', sql: m45 },
  { id: '0046_inbox', sql: m46 },
  { id: '0047_comments_and_views', sql: m47 },
  { id: '0048_refresh_grace', sql: m48 },
  { id: '0049_attachments', sql: m49 },
  { id: '0050_attachments_stay', sql: m50 },
  { id: '0051_views_by_project', sql: m51 },
  { id: '0052_site', sql: m52 },
  { id: '0053_assistant', sql: m53 },
  { id: '0054_community', sql: m54 },
  { id: '0055_tunnels', sql: m55 },
  { id: '0056_task_sums_by_statement', sql: m56 },
  { id: '0057_dependency_ids', sql: m57 },
  { id: '0058_task_orders_of_team', sql: m58 },
  { id: '0059_site_cover_alt', sql: m59 },
  { id: '0060_grants', sql: m60 },
  { id: '0061_tunnel_actions', sql: m61 },
  { id: '0062_skill_calls', sql: m62 },
  { id: '0063_tunnel_instances', sql: m63 },
  { id: '0064_tunnel_former_slugs', sql: m64 },
  { id: '0065_large_owners', sql: m65 },
  { id: '0066_agent_continuity', sql: m66 },
  { id: '0067_search_comments', sql: m67 },
  { id: '0068_workspace_invites', sql: m68 },
  { id: '0069_limited_credentials', sql: m69 },
  { id: '0070_agent_skills', sql: m70 },
  { id: '0071_feature_evidence_missing', sql: m71 },
  { id: '0072_push_subscriptions', sql: m72 },
  { id: '0073_changes', sql: m73 },
  { id: '0074_pending_uploads', sql: m74 },
  { id: '0075_notification_rules', sql: m75 },
  { id: '0076_project_colors', sql: m76 },
  { id: '0077_change_jobs', sql: m77 },
]
