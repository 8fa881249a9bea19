CREATE INDEX "notes_links" ON "notes" USING gin ("links" jsonb_path_ops) WHERE "notes"."links" <> '[]';
