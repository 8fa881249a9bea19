CREATE INDEX "api_keys_organization" ON "api_keys" USING btree ("organization_id");
CREATE INDEX "mcp_tokens_organization" ON "mcp_tokens" USING btree ("organization_id");
CREATE INDEX "invites_organization" ON "invites" USING btree ("organization_id");
CREATE INDEX "epics_organization" ON "epics" USING btree ("organization_id");
CREATE INDEX "stories_organization" ON "stories" USING btree ("organization_id");
CREATE INDEX "tasks_organization" ON "tasks" USING btree ("organization_id");
