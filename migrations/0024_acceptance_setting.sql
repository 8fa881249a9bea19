UPDATE "projects" SET "settings" = "settings" || '{"acceptance":"warn"}'::jsonb WHERE NOT "settings" ? 'acceptance';
