ALTER TABLE "attachments" DROP CONSTRAINT "attachments_organization_id_organizations_id_fk";

ALTER TABLE "attachments" ADD CONSTRAINT "attachments_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE set null ON UPDATE no action;
