-- expand
CREATE TABLE "workspace_invites" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"workspace_id" uuid NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"invited_by_id" uuid,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"closed_at" timestamp(3) with time zone,
	"team_id" uuid
);

ALTER TABLE "projects" ADD COLUMN "former_visibility" text;
ALTER TABLE "workspace_invites" ADD CONSTRAINT "workspace_invites_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "workspace_invites" ADD CONSTRAINT "workspace_invites_invited_by_id_users_id_fk" FOREIGN KEY ("invited_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "workspace_invites" ADD CONSTRAINT "workspace_invites_team_id_organizations_id_fk" FOREIGN KEY ("team_id") REFERENCES "public"."organizations"("id") ON DELETE set null ON UPDATE no action;
CREATE UNIQUE INDEX "workspace_invites_pending" ON "workspace_invites" USING btree ("workspace_id",lower("email")) WHERE "workspace_invites"."status" = 'pending';
CREATE INDEX "workspace_invites_workspace" ON "workspace_invites" USING btree ("workspace_id","created_at","id");
CREATE INDEX "workspace_invites_email" ON "workspace_invites" USING btree (lower("email"));
